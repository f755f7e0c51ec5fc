"""croissant.json (1.1): what the data are, where each table lies, and the responsible-AI fields.

Eight of the fields are those that checkers of submissions look for, by their reports and fixtures. The names
are those of the vocabulary of 1.0; the specification has second names for two of them, which readers miss.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from fire_toolkit.release.answers import licence_url
from fire_toolkit.release.facts import ReleaseFacts
from fire_toolkit.release.layout import TABLES, column_text, croissant_type
from fire_toolkit.reporting.templates import sentence

LOOKED_FOR = (
    *("rai:dataLimitations", "rai:dataBiases", "rai:personalSensitiveInformation", "rai:dataUseCases"),
    *("rai:dataSocialImpact", "rai:hasSyntheticData", "prov:wasDerivedFrom", "prov:wasGeneratedBy"),
)
# Wrong names that were seen in public files, and the right ones.
MISNAMED = {
    "rai:useCases": "rai:dataUseCases",
    "rai:annotationPlatform": "rai:dataAnnotationPlatform",
    "rai:annotationProtocol": "rai:dataAnnotationProtocol",
    "rai:syntheticData": "rai:hasSyntheticData",
}
_OWN = [
    *("column", "extract", "field", "fileProperty", "fileObject", "fileSet", "format", "includes", "key"),
    *("isArray", "isLiveDataset", "jsonPath", "md5", "parentField", "path", "recordSet", "references"),
    *("regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
    *("arrayShape", "citeAs", "containedIn", "equivalentProperty"),
]
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{name: f"cr:{name}" for name in _OWN},
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}


def croissant_json(facts: ReleaseFacts, tables: Mapping[str, pd.DataFrame], hashes: Mapping[str, str]) -> str:
    """Return croissant.json.

    Args:
        facts: of the release.
        tables: every table by its name, as it lies in data/NAME.parquet.
        hashes: the SHA-256 of each file of `data/`, by its path in the release.
    """
    found = {
        "@context": dict(sorted(CONTEXT.items())),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": facts.name,
        "alternateName": facts.title,
        "description": facts.summary,
        "version": _three_parts(facts.version),
        "license": licence_url(facts.answers),
        "url": facts.url or "./",
        "datePublished": facts.date,
        "citeAs": facts.citation,
        "creator": [{"@type": _kind(facts, n), "name": name} for n, name in enumerate(facts.creators)],
        "inLanguage": "en",
        "keywords": ["information retrieval", "relevance judgments", "qrels", "inter-annotator agreement"],
        **_responsible(facts),
        "distribution": [_file(name, facts, hashes) for name in tables],
        "recordSet": [_records(name, table) for name, table in tables.items()],
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _kind(facts: ReleaseFacts, number: int) -> str:
    """Return whether a creator is a person, named with a comma, or an organisation."""
    is_person = not facts.is_anonymous and "," in facts.answers["creators"][number]
    return "sc:Person" if is_person else "sc:Organization"


def _three_parts(version: str) -> str:
    """Return a version in the form that the format recommends, MAJOR.MINOR.PATCH."""
    return ".".join([*version.split("."), "0", "0"][: max(3, version.count(".") + 1)])


def _responsible(facts: ReleaseFacts) -> dict[str, Any]:
    """Return what the data ask of who uses them: the fields that checkers look for, and how people judged."""
    answers, texts = facts.answers, facts.paragraphs
    found: dict[str, Any] = {
        "rai:dataLimitations": sentence(answers["limitations"]),
        "rai:dataBiases": sentence(answers["biases"]),
        "rai:personalSensitiveInformation": sentence(answers["personal_information"]),
        "rai:dataUseCases": sentence(answers["uses"]),
        "rai:dataSocialImpact": sentence(answers["social_impact"]),
        "rai:hasSyntheticData": facts.is_synthetic,
        "rai:dataReleaseMaintenancePlan": sentence(answers["maintenance"]),
        "rai:dataCollection": texts["Pool"],
        "rai:dataAnnotationProtocol": f"{texts['Procedure']} {texts['Exclusions']} {texts['Labels']}",
        "rai:dataAnnotationPlatform": facts.platform,
        "rai:dataAnnotationAnalysis": texts["Agreement"],
        "rai:annotationsPerItem": _votes(facts),
        "rai:annotatorDemographics": sentence(facts.methods.study["recruitment"]),
    }
    if facts.is_synthetic:
        found["rai:machineAnnotationTools"] = facts.machine_made
    days = (facts.methods.judgments or {}).get("days")
    if days:
        found["rai:dataCollectionTimeFrame"] = list(days)
    return found | _provenance(facts)


def _votes(facts: ReleaseFacts) -> str:
    by_votes = facts.methods.agreement.n_pairs_by_votes if facts.methods.agreement else ()
    counted = [f"{n:,} pairs with {votes}" for votes, n in enumerate(by_votes) if n and votes]
    return f"First answers: {', '.join(counted) or 'none'}; every judgment is in the table judgments."


def _provenance(facts: ReleaseFacts) -> dict[str, Any]:
    pool, augmented = facts.methods.pool or {}, facts.methods.augmented or {}
    steps = {
        "pooling": f"The top {pool.get('depth')} of {pool.get('runs')} runs were pooled.",
        "judging": f"{facts.counts['annotators']:,} annotators judged the pooled pairs.",
        "resolving": facts.paragraphs["Labels"],
        "augmenting": f"Labels were joined to the original ones under policy {augmented.get('policy')}.",
    }
    agent = {"@type": "prov:SoftwareAgent", "@id": "fire-toolkit", "prov:label": facts.tool}
    return {
        "prov:wasDerivedFrom": [
            {"@type": "prov:Entity", "@id": "benchmark", "prov:label": facts.answers["source"]}
        ],
        "prov:wasGeneratedBy": [
            {
                "@type": "prov:Activity",
                "@id": name,
                "prov:label": text,
                "prov:used": {"@id": "benchmark"},
                "prov:wasAssociatedWith": agent if name == "pooling" else {"@id": "fire-toolkit"},
            }
            for name, text in steps.items()
        ],
    }


def _file(name: str, facts: ReleaseFacts, hashes: Mapping[str, str]) -> dict[str, Any]:
    path = f"data/{name}.parquet"
    base = "" if facts.is_anonymous else facts.answers.get("files_url", "")
    return {
        "@type": "cr:FileObject",
        "@id": f"{name}-file",
        "name": f"{name}.parquet",
        "description": TABLES[name],
        "contentUrl": f"{base}{path}",
        "encodingFormat": "application/x-parquet",
        "sha256": hashes[path],
    }


def _records(name: str, table: pd.DataFrame) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": TABLES[name],
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "description": column_text(column),
                "dataType": croissant_type(str(table[column].dtype)),
                "source": {"fileObject": {"@id": f"{name}-file"}, "extract": {"column": column}},
            }
            for column in map(str, table.columns)
        ],
    }
