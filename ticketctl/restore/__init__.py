"""The restore: puts back what an export has and the tables lack, exactly."""
