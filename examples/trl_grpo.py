"""One GRPO step of TRL, with a tiny model of random weights that may call Crafter as a tool.

    pip install -r examples/requirements-trl.txt
    python examples/trl_grpo.py

It shows the wiring, not learning: random weights call no tool. Put your own model and tokenizer in.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

from core.env.rules import ACTIONS
from core.integrations.trl import CrafterToolEnv

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words = [CrafterToolEnv().reset(seed=1), *ACTIONS]
    tokenizer.train_from_iterator(words, trainers.BpeTrainer(special_tokens=SPECIAL, initial_alphabet=alphabet))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=qwen3_chat_template,
    )


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
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model,
            args=GRPOConfig(
                output_dir=folder,
                max_steps=1,
                per_device_train_batch_size=4,
                num_generations=4,
                max_completion_length=64,
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
