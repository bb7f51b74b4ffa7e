"""The simulated film and television service: world, rendering, app, and the checks of its 100 tasks."""
