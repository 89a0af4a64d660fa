import asyncio
import copy
import pickle

import pytest
from pydantic import BaseModel, ValidationError

from clew.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document


def test_documents():
    document = Document("x", metadata={"a": [1]}, id="1")
    assert document == Document(page_content="x", metadata={"a": [1]}, id="1")
    assert str(document) == "page_content='x' metadata={'a': [1]}" and str(Document("x")) == "page_content='x'"
    assert document.model_dump() == {"id": "1", "metadata": {"a": [1]}, "page_content": "x", "type": "Document"}
    assert Document(**document.model_dump()) == document and pickle.loads(pickle.dumps(document)) == document


def test_copies_share_nothing():
    document = Document("x", metadata={"a": [1]})
    copy.deepcopy(document).metadata["a"].append(2)
    document.model_copy(deep=True).metadata["a"].append(3)
    assert document.metadata == {"a": [1]} and Document("y").metadata == {}


def test_bad_documents():
    with pytest.raises(ValueError):
        Document(5)
    assert Document("x", id=7).id == "7"


def test_as_pydantic_field():
    class Holder(BaseModel):
        document: Document

    assert Holder(document={"page_content": "x"}).document == Document("x")
    assert Holder.model_validate_json(Holder(document=Document("x")).model_dump_json()).document == Document("x")
    for bad in (5, {}, {"page_content": "x", "other": 1}):
        with pytest.raises(ValidationError):
            Holder(document=bad)


def test_transformers_and_compressors_have_an_async_face():
    class Upper(BaseDocumentTransformer):
        def transform_documents(self, documents, **kwargs):
            return [Document(d.page_content.upper()) for d in documents]

    class First(BaseDocumentCompressor):
        def compress_documents(self, documents, query, callbacks=None):
            return documents[:1]

    assert asyncio.run(Upper().atransform_documents([Document("a")])) == [Document("A")]
    assert asyncio.run(First().acompress_documents([Document("a"), Document("b")], "q")) == [Document("a")]
