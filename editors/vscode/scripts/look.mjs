// What a person sees of the editors in a window: of each its document, its lines, and how the extension marks them.

/** Runs in the page. */
function editors() {
  const number = (element) => Number.parseFloat(element.style.top);
  return [...document.querySelectorAll('.editor-instance .monaco-editor[data-uri]')].map((editor) => {
    const marked = new Set();
    for (const overlay of editor.querySelectorAll('.view-overlays > div')) {
      const marks = [...overlay.querySelectorAll('.cdr[class*="TextEditorDecorationType"]')];
      if (marks.some((mark) => getComputedStyle(mark).backgroundColor !== 'rgba(0, 0, 0, 0)')) marked.add(number(overlay));
    }
    const lines = [...editor.querySelectorAll('.view-lines > .view-line')]
      .sort((one, other) => number(one) - number(other))
      .map((line) => {
        const parts = [...line.querySelectorAll('span')];
        const notes = parts.map((part) => getComputedStyle(part, '::after').content).filter((text) => !['none', 'normal', '""'].includes(text));
        return {
          text: line.textContent.replaceAll('\u00a0', ' '),
          marked: marked.has(number(line)),
          faded: parts.some((part) => Number(getComputedStyle(part).opacity) < 1),
          slanted: parts.filter((part) => part.childElementCount === 0 && getComputedStyle(part).fontStyle === 'italic').map((part) => part.textContent),
          note: notes.map((text) => JSON.parse(text)).join(' '),
        };
      });
    return { uri: editor.dataset.uri, lines };
  });
}

export const look = (page) => page.evaluate(editors);
