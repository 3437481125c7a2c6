// Copies text to the clipboard, also on pages without TLS, where browsers offer only the older way.
export async function copyText(text: string): Promise<void> {
  // It is missing on pages that are not secure.
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard) return await clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  if (!isCopied) throw new Error('The browser does not let this page copy. Select the text and copy it yourself.')
}
