"""The parts of a contrast card, of one fixed shape; every key has its meaning and unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from drift.conclusions.said import PP, PROBABILITY, ROWS, SHARE, Said
from drift.data.scorer_declaration import AuditDesign, Prevalence


@dataclass(frozen=True)
class Estimate:
    """Summary of posterior draws."""

    mean: Annotated[float, Said("posterior mean")]
    sd: Annotated[float, Said("posterior standard deviation")]
    lower: Annotated[float, Said("lower end of the 95% interval with equal tails")]
    upper: Annotated[float, Said("upper end of the 95% interval with equal tails")]
    mcse: Annotated[float | None, Said("Monte Carlo standard error of the mean; null where every draw is the same")]


@dataclass(frozen=True)
class Rate:
    """A share of counted rows."""

    hits: Annotated[int, Said("rows counted", ROWS)]
    rows: Annotated[int, Said("rows that they are a share of", ROWS)]
    lower: Annotated[float | None, Said("lower end of the exact 95% interval (Clopper-Pearson)", SHARE)]
    upper: Annotated[float | None, Said("upper end of the exact 95% interval (Clopper-Pearson)", SHARE)]


@dataclass(frozen=True)
class ConfidenceInterval:
    """A frequentist estimate with its 95% confidence interval; null where the data leave it undefined."""

    estimate: Annotated[float | None, Said("estimate")]
    lower: Annotated[float | None, Said("lower end")]
    upper: Annotated[float | None, Said("upper end")]


@dataclass(frozen=True)
class OutcomePart:
    """What label 1 means."""

    name: Annotated[str, Said("what label 1 means")]
    rubric: Annotated[str | None, Said("the rubric by which scorer and raters were to tell it")]


@dataclass(frozen=True)
class PromptPart:
    """What is compared, and on what it is paired."""

    treatment: Annotated[str, Said("arm whose prevalence is counted positive")]
    comparator: Annotated[str, Said("arm whose prevalence is subtracted")]
    pairing_key: Annotated[str, Said("column that names the key on which the arms are paired")]
    keys_both: Annotated[int, Said("keys of the target with a response of one model, or more, in both arms", "keys")]
    keys_treatment_only: Annotated[int, Said("keys of the target in the treatment arm only", "keys")]
    keys_comparator_only: Annotated[int, Said("keys of the target in the comparator arm only", "keys")]
    pairs: Annotated[int, Said("responses of one model on one key in both arms", "pairs")]


@dataclass(frozen=True)
class TargetPart:
    """The responses that prevalence is a share of."""

    prevalence: Annotated[
        Prevalence, Said("declared: of the panel's own rows, of the responses they are a sample of, or new keys")
    ]
    population: Annotated[str, Said("the set of responses that is the target")]
    weights: Annotated[Mapping[str, Mapping[str, float]], Said("arm -> model -> weight", SHARE)]
    rows_treatment: Annotated[int, Said("responses of the treatment arm in the target", ROWS)]
    rows_comparator: Annotated[int, Said("responses of the comparator arm in the target", ROWS)]


@dataclass(frozen=True)
class AuditPart:
    """One audit: how its rows were chosen and what they were made with."""

    name: Annotated[str, Said("name of the audit")]
    design: Annotated[AuditDesign, Said("how its rows were chosen")]
    sampled_on: Annotated[tuple[str, ...], Said("what the chance of being chosen depended on")]
    outside: Annotated[bool, Said("whether it lies outside the target and informs error rates only")]
    rows: Annotated[int, Said("audited rows, all arms", ROWS)]
    rows_treatment: Annotated[int, Said("audited rows of the treatment arm", ROWS)]
    rows_comparator: Annotated[int, Said("audited rows of the comparator arm", ROWS)]
    unrated: Annotated[int, Said("rows of the audit that no rater labelled", ROWS)]
    inclusion_smallest: Annotated[float | None, Said("smallest recorded probability of inclusion", PROBABILITY)]
    inclusion_largest: Annotated[float | None, Said("largest recorded probability of inclusion", PROBABILITY)]
    versions: Annotated[Mapping[str, str], Said("declared versions of scorer, router and raters")]


@dataclass(frozen=True)
class ConfusionPart:
    """Audited rows of an arm (and route) against the label of the first rater who gave one; not weighted."""

    arm: Annotated[str, Said("arm")]
    stratum: Annotated[str, Said("route, or what an audit was sampled on; `all` for the whole arm")]
    tp: Annotated[int, Said("scorer 1, rater 1", ROWS)]
    fp: Annotated[int, Said("scorer 1, rater 0", ROWS)]
    fn: Annotated[int, Said("scorer 0, rater 1", ROWS)]
    tn: Annotated[int, Said("scorer 0, rater 0", ROWS)]
    fpr_counted: Annotated[Rate, Said("false positives among rater 0, as counted")]
    fnr_counted: Annotated[Rate, Said("false negatives among rater 1, as counted")]
    fpr: Annotated[Estimate | None, Said("P(scorer 1 | truth 0) in the target; null outside it", PROBABILITY)]
    fnr: Annotated[Estimate | None, Said("P(scorer 0 | truth 1) in the target; null outside it", PROBABILITY)]


@dataclass(frozen=True)
class ArmPart:
    """Prevalence and scorer of one arm, in the target as declared."""

    arm: Annotated[str, Said("arm")]
    automatic: Annotated[float, Said("share of responses that the scorer labels 1", SHARE)]
    corrected: Annotated[Estimate, Said("prevalence of truth 1", SHARE)]
    bias_pp: Annotated[Estimate, Said("automatic minus corrected", PP)]
    inverted: Annotated[float, Said("P(sensitivity + specificity < 1): the labels point the wrong way", PROBABILITY)]


@dataclass(frozen=True)
class ContrastPart:
    """The contrast, treatment minus comparator, for one target."""

    prevalence: Annotated[Prevalence, Said("target of this line")]
    declared: Annotated[bool, Said("whether it is the declared target, which decides")]
    automatic_pp: Annotated[float, Said("contrast of the scorer's labels", PP)]
    corrected_pp: Annotated[Estimate, Said("corrected contrast", PP)]
    above_zero: Annotated[float, Said("P(corrected contrast > 0)", PROBABILITY)]
    below_zero: Annotated[float, Said("P(corrected contrast < 0)", PROBABILITY)]


@dataclass(frozen=True)
class BiasPart:
    """Contrast bias, and its exact split into what the error rates and the prevalence contribute."""

    bias_pp: Annotated[Estimate, Said("automatic minus corrected contrast", PP)]
    tolerance_pp: Annotated[float, Said("declared largest bias that leaves the conclusion alone", PP)]
    within: Annotated[float, Said("P(|bias| < tolerance)", PROBABILITY)]
    from_fpr_pp: Annotated[Estimate, Said("due to different false positive rates", PP)]
    from_fnr_pp: Annotated[Estimate, Said("due to different false negative rates", PP)]
    from_prevalence_pp: Annotated[Estimate, Said("left where the rates are equal and prevalence is not", PP)]
    attenuation: Annotated[
        Estimate | None, Said("corrected over automatic contrast; null where the latter is 0", "ratio")
    ]


@dataclass(frozen=True)
class PairedPart:
    """One rater's labels taken as they are, on the pairs that the rater labelled in both arms."""

    rater: Annotated[str, Said("rater")]
    pairs: Annotated[int, Said("responses of one model on one key labelled in both arms", "pairs")]
    keys: Annotated[int, Said("keys that they are on", "keys")]
    only_treatment: Annotated[int, Said("pairs that the rater labels 1 more often in the treatment arm", "pairs")]
    only_comparator: Annotated[int, Said("pairs that the rater labels 1 more often in the comparator arm", "pairs")]
    automatic_pp: Annotated[float | None, Said("automatic contrast on the same pairs, every pair alike", PP)]
    rated_pp: Annotated[ConfidenceInterval, Said("the rater's contrast, every pair alike; clustered by key", PP)]


@dataclass(frozen=True)
class SameKeyPart:
    """The contrast on identical keys alone: (key, model) pairs of the target that both arms have."""

    keys: Annotated[Literal["these", "new"], Said("of these keys, or of new keys like them")]
    n_pairs: Annotated[int, Said("responses of one model on one key in both arms", "pairs")]
    n_keys: Annotated[int, Said("keys that they are on", "keys")]
    covered: Annotated[float, Said("share of the target's model weights that has pairs", SHARE)]
    automatic_pp: Annotated[float, Said("contrast of the scorer's labels", PP)]
    corrected_pp: Annotated[Estimate, Said("corrected contrast", PP)]
    bias_pp: Annotated[Estimate, Said("automatic minus corrected", PP)]
    above_zero: Annotated[float, Said("P(corrected contrast > 0)", PROBABILITY)]
    below_zero: Annotated[float, Said("P(corrected contrast < 0)", PROBABILITY)]


@dataclass(frozen=True)
class AgreementPart:
    """Agreement of two raters on the rows that both labelled."""

    raters: Annotated[tuple[str, ...], Said("the two raters")]
    arm: Annotated[str, Said("arm, or `all`")]
    rows: Annotated[int, Said("rows that both labelled", ROWS)]
    agreement: Annotated[ConfidenceInterval, Said("share of them with the same label", SHARE)]
    modelled: Annotated[Estimate | None, Said("the same share as the model has it; null where nobody saw both", SHARE)]
    kappa: Annotated[ConfidenceInterval, Said("Cohen's kappa")]


@dataclass(frozen=True)
class RaterPart:
    """What the raters contribute."""

    labelled: Annotated[Mapping[str, Mapping[str, int]], Said("rater -> arm -> rows labelled", ROWS)]
    reference: Annotated[str | None, Said("rater whom this posterior takes for the truth")]
    agreement: Annotated[tuple[AgreementPart, ...], Said("of each pair of raters")]
    paired: Annotated[
        tuple[PairedPart, ...], Said("each rater's own contrast on identical keys, labels taken as they are")
    ]


@dataclass(frozen=True)
class SensitivityPart:
    """The corrected contrast under one other assumption. Null where that posterior failed its checks."""

    name: Annotated[str, Said("name of the variant; empty for the model itself")]
    title: Annotated[str, Said("what differs, in words")]
    withheld: Annotated[bool, Said("whether its convergence checks failed")]
    corrected_pp: Annotated[Estimate | None, Said("corrected contrast", PP)]
    sign_probability: Annotated[float | None, Said("P(it has the automatic contrast's sign)", PROBABILITY)]
    bias_pp: Annotated[Estimate | None, Said("contrast bias", PP)]


@dataclass(frozen=True)
class ComparatorPart:
    """The corrected contrast by a method that shares nothing with the model but the data."""

    method: Annotated[str, Said("method")]
    contrast_pp: Annotated[ConfidenceInterval, Said("contrast", PP)]
    rows: Annotated[int, Said("rows that it rests on; audited ones where it uses an audit", ROWS)]
    truth: Annotated[str, Said("rater whose labels it takes for the truth")]
    note: Annotated[str, Said("what it assumes, or why there is no number")]


@dataclass(frozen=True)
class PriorPart:
    """How far the data moved one estimate from its prior."""

    quantity: Annotated[str, Said("estimate")]
    sd_ratio: Annotated[float, Said("posterior over prior standard deviation: 1 where the data say nothing", "ratio")]
    dominated: Annotated[bool, Said("whether the prior decides it")]
    decides: Annotated[bool, Said("whether the disposition looks at it")]


@dataclass(frozen=True)
class IdentificationPart:
    """What these data can tell under these assumptions: numerical rank of the pattern probabilities."""

    assumption: Annotated[str, Said("what is taken for granted")]
    parameters: Annotated[int, Said("free parameters")]
    rank: Annotated[int, Said("directions that the pattern probabilities determine")]
    nullity: Annotated[int, Said("directions that are left to the prior")]
    unknown: Annotated[tuple[str, ...], Said("parameters that those directions move")]
    margin: Annotated[float, Said("smallest over largest singular value: near 0, identified in name only", "ratio")]
    statement: Annotated[str, Said("in words")]


@dataclass(frozen=True)
class FragilityPart:
    """How little would undo the sign. Exact integers."""

    rater: Annotated[str, Said("whose labels are counted")]
    rows: Annotated[int, Said("labels in both arms", "labels")]
    rated_pp: Annotated[float, Said("contrast of these labels, every label alike", PP)]
    flips_to_zero: Annotated[int, Said("fewest changed labels that bring it to 0 or past it", "labels")]
    flips_to_doubt: Annotated[
        int, Said("fewest changed labels that bring its sign's probability below gamma", "labels")
    ]
    error_budget_pp: Annotated[float, Said("the sign survives a prevalence off by less than this in each arm", PP)]


@dataclass(frozen=True)
class BoundsPart:
    """What holds whatever the raters' errors are not assumed to be."""

    lower_pp: Annotated[Estimate, Said("smallest contrast that the labels allow", PP)]
    upper_pp: Annotated[Estimate, Said("largest contrast that the labels allow", PP)]
    assumption: Annotated[str, Said("what is taken for granted")]
