"""What transformers makes of a folder that `shardlab train --save` wrote: python3 hub.py FOLDER QUESTION

    pip install torch transformers
"""

import sys

import torch
from transformers import AutoModelForCausalLM, logging

logging.disable_progress_bar()
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
print(f"{type(model).__name__}, {model.num_parameters():,} parameters")

prompt = torch.tensor([list(f"Q: {sys.argv[2]} A:".encode())])  # a byte is a token
mask = torch.ones_like(prompt)
answer = model.generate(prompt, attention_mask=mask, do_sample=False, max_length=64, eos_token_id=0, pad_token_id=0)
print(bytes(answer[0].tolist()).rstrip(b"\0").decode())
