"""The modules' prompts as data: one YAML file each, instructions and worked examples of an imaginary gallery."""
