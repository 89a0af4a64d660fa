"""What models are told about the form of their answer."""

JSON_FORMAT_INSTRUCTIONS = """Answer with one JSON value and nothing else: no explanation, no code fence.
It must be valid under this JSON Schema:
```
{schema}
```
Example: for {{"properties": {{"foo": {{"type": "array", "items": {{"type": "string"}}}}}}, "required": ["foo"]}} \
the object {{"foo": ["bar", "baz"]}} is valid, and {{"properties": {{"foo": ["bar", "baz"]}}}} is not."""

XML_FORMAT_INSTRUCTIONS = """Answer with one XML document and nothing else.
1. Use the tags below; where none are listed, make up your own.
2. Close every tag that you open.
For the tags ["foo", "bar", "baz"]:
1. "<foo>\\n   <bar>\\n      <baz></baz>\\n   </bar>\\n</foo>" is right.
2. "<foo>\\n   <bar>\\n   </foo>" is wrong: bar is not closed.
3. "<foo>\\n   <tag>\\n   </tag>\\n</foo>" is wrong: tag is not in the list.
The tags:
```
{tags}
```"""
