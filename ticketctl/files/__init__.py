"""Files that people give: requests as JSONL or CSV."""
