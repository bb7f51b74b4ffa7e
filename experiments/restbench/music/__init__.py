"""The simulated music service: world, rendering, app, and the checks of its 57 tasks."""
