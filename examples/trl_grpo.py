"""One GRPO step of TRL, with a tiny model of random weights that may call Crafter as a tool.

    pip install -r examples/requirements-trl.txt
    python examples/trl_grpo.py

It shows the wiring, not learning: the model is only taught to make one call, so that there is one to see. Put your own
model and tokenizer in.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

from core.env.rules import ACTIONS
from core.integrations.trl import CrafterToolEnv

LESSONS = 500
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKS = ["<tool_call>", "</tool_call>"]  # not special: they are read in the model's text


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words = [CrafterToolEnv().reset(seed=1), *ACTIONS]
    tokenizer.train_from_iterator(words, trainers.BpeTrainer(special_tokens=SPECIAL, initial_alphabet=alphabet))
    tokenizer.add_tokens(MARKS)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=qwen3_chat_template,
    )


def teach_a_call(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, rows: Dataset) -> None:
    """Random weights call no tool, so these learn one call by heart, after the prompts of these rows."""
    env = CrafterToolEnv()
    tool = get_json_schema(env.interact)
    arguments = {"actions": ["do", "move_left"], "reasoning": "by heart"}
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "interact", "arguments": arguments}}]}
    lessons = []
    for row in rows:
        prompt = [{"role": "user", "content": row["prompt"][0]["content"] + env.reset(seed=row["seed"])}]
        text = tokenizer.apply_chat_template([*prompt, call], tools=[tool], tokenize=False)
        before = tokenizer.apply_chat_template(prompt, tools=[tool], tokenize=False, add_generation_prompt=True)
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        labels = ids.clone()
        labels[:, : len(tokenizer(before)["input_ids"])] = -100
        lessons.append((ids, labels))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for at in range(LESSONS):
        ids, labels = lessons[at % len(lessons)]
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def main() -> None:
    tokenizer = tiny_tokenizer()
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    prompt = [{"role": "user", "content": "Play Crafter: unlock achievements by calling interact."}]
    rows = Dataset.from_list([{"prompt": prompt, "seed": seed} for seed in range(4)])
    teach_a_call(model, tokenizer, rows)
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model,
            args=GRPOConfig(
                output_dir=folder,
                max_steps=1,
                per_device_train_batch_size=4,
                num_generations=4,
                max_completion_length=256,
                use_cpu=True,
                report_to="none",
                save_strategy="no",
            ),
            train_dataset=rows,
            processing_class=tokenizer,
            environment_factory=CrafterToolEnv,
        )
        trainer.train()
        step = trainer.state.log_history[0]
    print(
        {
            name: step[name]
            for name in ("loss", "reward", "completions/mean_length", "tools/call_frequency")
            if name in step
        }
    )


if __name__ == "__main__":
    main()
