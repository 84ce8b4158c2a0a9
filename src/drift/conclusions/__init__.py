"""What a posterior file says, as tables and sentences; nothing where its checks failed."""
