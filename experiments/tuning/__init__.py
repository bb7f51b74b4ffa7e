"""Prompt, prefix and LoRA tuning of tool use, measured on operators and plugins that training never showed."""
