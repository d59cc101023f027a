"""The features of a document, as lines of the server's table: which function answers which request.

What a request's parameters say beyond a place is unpacked here, so that features know nothing of it.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp

from phobos_ls import clients, commands
from phobos_ls.features import (
    call_hierarchy,
    code_actions,
    code_lens,
    completion,
    formatting,
    generated_code,
    links,
    navigation,
    rename,
    signature,
    structure,
    symbols,
)
from phobos_ls.features import semantic_tokens as colours
from phobos_ls.features.hover import hover
from phobos_ls.features.type_definition import type_definition
from phobos_ls.lifecycle import Refused
from phobos_ls.session import Session
from phobos_ls.snapshot import Snapshot
from phobos_ls.status import METHOD as STATUS
from phobos_ls.table import Feature, SessionFeature, Table, at, between, given, whole


def _references(snapshot: Snapshot, params: lsp.ReferenceParams) -> Any:
    declared = params.context.include_declaration
    return navigation.references(snapshot, snapshot.offset(params.position), declared=declared)


def _rename(snapshot: Snapshot, params: lsp.RenameParams) -> Any:
    try:
        return rename.rename(snapshot, snapshot.offset(params.position), params.new_name)
    except rename.RenameRefused as error:
        raise Refused(str(error)) from error


def _selection(snapshot: Snapshot, params: lsp.SelectionRangeParams) -> Any:
    return structure.selection_ranges(snapshot, [snapshot.offset(place) for place in params.positions])


def _on_type(snapshot: Snapshot, params: lsp.DocumentOnTypeFormattingParams) -> Any:
    return formatting.format_on_type(snapshot, snapshot.offset(params.position), params.ch)


def _tokens(snapshot: Snapshot, params: lsp.SemanticTokensParams, session: Session) -> lsp.SemanticTokens:
    data = colours.semantic_tokens(snapshot)
    session.tokens[snapshot.uri] = data
    return lsp.SemanticTokens(data, colours.result_id(data))


def _token_delta(
    snapshot: Snapshot, params: lsp.SemanticTokensDeltaParams, session: Session
) -> lsp.SemanticTokens | lsp.SemanticTokensDelta:
    before = session.tokens.get(snapshot.uri)
    if before is None or colours.result_id(before) != params.previous_result_id:
        return _tokens(snapshot, lsp.SemanticTokensParams(params.text_document), session)
    data = colours.semantic_tokens(snapshot)
    session.tokens[snapshot.uri] = data
    edits = [lsp.SemanticTokensEdit(e.start, e.delete_count, e.data) for e in colours.difference(before, data)]
    return lsp.SemanticTokensDelta(edits, colours.result_id(data))


def _tokens_between(snapshot: Snapshot, start: int, end: int) -> lsp.SemanticTokens:
    return lsp.SemanticTokens(colours.semantic_tokens(snapshot, start, end))


def _workspace_symbols(params: lsp.WorkspaceSymbolParams, session: Session) -> list[lsp.WorkspaceSymbol]:
    found: list[lsp.WorkspaceSymbol] = []
    for uri in session.sources():
        session.closed.checkpoint()
        symbols_of = session.remembered(uri, lsp.WORKSPACE_SYMBOL, symbols.workspace_symbols)
        found += [symbol for symbol in symbols_of or () if symbols.matches(params.query, symbol.name)]
    return found


def _code_actions(snapshot: Snapshot, params: lsp.CodeActionParams, session: Session) -> Any:
    client = code_actions.client_of(session.capabilities)
    start, end = snapshot.offset(params.range.start), snapshot.offset(params.range.end)
    found = code_actions.code_actions(snapshot, start, max(start, end), params.context, client)
    if client.literals:
        return found
    return [command for action in found if (command := code_actions.as_command(action)) is not None]


def _resolved_action(snapshot: Snapshot, action: lsp.CodeAction, session: Session) -> Any:
    return code_actions.resolve(snapshot, action, code_actions.client_of(session.capabilities))


def _completion(snapshot: Snapshot, params: lsp.CompletionParams, session: Session) -> lsp.CompletionList:
    snippets = session.supports("text_document.completion.completion_item.snippet_support")
    return completion.completion(snapshot, snapshot.offset(params.position), snippets=snippets)


def _resolved_item(item: lsp.CompletionItem, session: Session) -> lsp.CompletionItem:
    return clients.documented(completion.resolve(item), session.capabilities)


def _hover(snapshot: Snapshot, params: lsp.HoverParams, session: Session) -> lsp.Hover | None:
    return clients.hover(hover(snapshot, snapshot.offset(params.position), session.builds), session.capabilities)


def _signature(snapshot: Snapshot, params: lsp.SignatureHelpParams, session: Session) -> lsp.SignatureHelp | None:
    found = signature.signature_help(snapshot, snapshot.offset(params.position))
    return clients.signature(found, session.capabilities)


def _outline(snapshot: Snapshot, params: lsp.DocumentSymbolParams, session: Session) -> Any:
    return clients.outline(symbols.document_symbols(snapshot), snapshot.uri, session.capabilities)


def _links(snapshot: Snapshot, params: lsp.DocumentLinkParams, session: Session) -> list[lsp.DocumentLink]:
    tooltips = session.supports("text_document.document_link.tooltip_support")
    return links.document_links(snapshot, tooltips=tooltips)


FEATURES: Table = (
    Feature(lsp.TEXT_DOCUMENT_HOVER, _hover),
    Feature(
        lsp.TEXT_DOCUMENT_COMPLETION,
        _completion,
        lsp.CompletionOptions(list(completion.TRIGGERS), resolve_provider=True),
    ),
    SessionFeature(lsp.COMPLETION_ITEM_RESOLVE, _resolved_item),
    Feature(
        lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
        _signature,
        lsp.SignatureHelpOptions(list(signature.TRIGGERS)),
    ),
    Feature(lsp.TEXT_DOCUMENT_DEFINITION, at(navigation.definition)),
    Feature(lsp.TEXT_DOCUMENT_TYPE_DEFINITION, at(type_definition)),
    Feature(lsp.TEXT_DOCUMENT_REFERENCES, given(_references)),
    Feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, at(navigation.highlight)),
    Feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME, at(rename.prepare)),
    Feature(lsp.TEXT_DOCUMENT_RENAME, given(_rename), lsp.RenameOptions(prepare_provider=True)),
    Feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _outline),
    SessionFeature(lsp.WORKSPACE_SYMBOL, _workspace_symbols, over_files=True),
    Feature(lsp.TEXT_DOCUMENT_DOCUMENT_LINK, _links, absent=list),
    SessionFeature(lsp.DOCUMENT_LINK_RESOLVE, lambda link, session: links.resolve(link)),
    Feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE, whole(structure.folding_ranges)),
    Feature(lsp.TEXT_DOCUMENT_SELECTION_RANGE, given(_selection)),
    Feature(lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, at(call_hierarchy.prepare)),
    Feature(
        lsp.CALL_HIERARCHY_INCOMING_CALLS,
        given(lambda snapshot, params: call_hierarchy.incoming(snapshot, params.item.name)),
    ),
    Feature(
        lsp.CALL_HIERARCHY_OUTGOING_CALLS,
        given(lambda snapshot, params: call_hierarchy.outgoing(snapshot, params.item.name)),
    ),
    Feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        _code_actions,
        lsp.CodeActionOptions(list(code_actions.KINDS), resolve_provider=True),
    ),
    Feature(lsp.CODE_ACTION_RESOLVE, _resolved_action, unnamed=lambda action: action),
    Feature(lsp.TEXT_DOCUMENT_CODE_LENS, whole(code_lens.code_lenses), absent=list),
    *commands.COMMANDS,
    Feature(lsp.TEXT_DOCUMENT_FORMATTING, whole(formatting.format_document)),
    Feature(lsp.TEXT_DOCUMENT_RANGE_FORMATTING, between(formatting.format_range)),
    Feature(
        lsp.TEXT_DOCUMENT_ON_TYPE_FORMATTING,
        given(_on_type),
        lsp.DocumentOnTypeFormattingOptions(formatting.TRIGGERS[0], list(formatting.TRIGGERS[1:])),
    ),
    Feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _tokens, colours.LEGEND),
    Feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, _token_delta),
    Feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, between(_tokens_between)),
    Feature(
        lsp.TEXT_DOCUMENT_INLAY_HINT,
        lambda snapshot, params, session: session.hinting.answer(snapshot, params),
        lsp.InlayHintOptions(resolve_provider=False),
        absent=list,
    ),
    Feature("phobos/ptx", generated_code.ptx),
    Feature("phobos/sass", generated_code.sass),
    Feature("phobos/memoryMap", generated_code.memory_map),
    Feature("phobos/configurations", generated_code.configurations),
    SessionFeature(STATUS, lambda params, session: session.status.answer(params)),
)
