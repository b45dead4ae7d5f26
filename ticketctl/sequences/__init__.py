"""What `seed`, `import` and `void` do: write beside the worker, and leave no gap."""
