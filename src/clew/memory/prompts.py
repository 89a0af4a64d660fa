"""The default prompts of the memories, in English and in Chinese.

Every memory takes another prompt with the same variables; the Chinese set is there to be given as it is.
"""

from __future__ import annotations

from clew.prompts import PromptTemplate

__all__ = [
    "ENTITY_EXTRACTION_PROMPT",
    "ENTITY_EXTRACTION_PROMPT_ZH",
    "ENTITY_SUMMARIZATION_PROMPT",
    "ENTITY_SUMMARIZATION_PROMPT_ZH",
    "SUMMARY_PROMPT",
    "SUMMARY_PROMPT_ZH",
]

SUMMARY_PROMPT = PromptTemplate.from_template(
    """You keep the running summary of a conversation. Extend the summary with what the new lines add, and give back \
the whole new summary, in the language of the conversation. Keep names, numbers, decisions and open questions; leave \
out greetings and repetitions. Lines that begin with spaces belong to the speaker above them.

Summary so far:
{summary}

New lines:
{new_lines}

New summary:"""
)

SUMMARY_PROMPT_ZH = PromptTemplate.from_template(
    """你负责维护一段对话的摘要。请把新的对话内容补充到已有摘要中，并输出完整的新摘要。保留人名、数字、决定和尚未解决的问题；\
省略寒暄和重复的内容。以空格开头的行属于上一位说话者。

已有摘要：
{summary}

新的对话：
{new_lines}

新的摘要："""
)

ENTITY_EXTRACTION_PROMPT = PromptTemplate.from_template(
    """List the proper names (people, places, organisations, products, works) in the last line of this conversation. \
Use the lines before it only to find out what a pronoun in the last line stands for; a name that occurs only there is \
not to be listed. Answer with the names, separated by commas, or with NONE if there are none.

Conversation:
{history}

Last line:
Human: {input}

Names:"""
)

ENTITY_EXTRACTION_PROMPT_ZH = PromptTemplate.from_template(
    """请列出这段对话最后一行中的专有名词（人物、地点、机构、产品、作品）。前面的对话只用来判断最后一行里的代词指的是谁；\
只在前面出现过的名称不要列出。只回答名称，用英文逗号分隔；如果没有，请只回答 NONE。

对话：
{history}

最后一行：
用户：{input}

名称："""
)

ENTITY_SUMMARIZATION_PROMPT = PromptTemplate.from_template(
    """You keep short notes about the people and things that a conversation mentions. Bring the note about "{entity}" \
up to date with the facts that the last line gives about it, and with nothing else. If the last line says nothing new \
about it, give the note back unchanged. Answer with the note alone.

Conversation:
{history}

Note about {entity} so far:
{summary}

Last line:
Human: {input}

New note about {entity}:"""
)

ENTITY_SUMMARIZATION_PROMPT_ZH = PromptTemplate.from_template(
    """你负责记录对话中提到的人和事物。请只根据最后一行中关于“{entity}”的事实来更新它的记录。\
如果最后一行没有新的信息，请原样输出已有记录。只输出记录本身。

对话：
{history}

关于 {entity} 的已有记录：
{summary}

最后一行：
用户：{input}

关于 {entity} 的新记录："""
)
