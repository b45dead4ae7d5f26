"""One history as it runs: the services, the workers, and the world around them."""
