// Draws QR codes as text for a terminal.

/** Draws light squares; dark ones are spaces, as a dark terminal needs it. Rejects a text of more than 2953 bytes. */
export async function drawQrCode(text: string): Promise<string> {
  const { renderUnicodeCompact } = await import('uqr')
  return `${renderUnicodeCompact(text, { border: 2 })}\n`
}
