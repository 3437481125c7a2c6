// Removes markup and superfluous white space from a text.
export const plainText = (value) =>
  String(value)
    .replace(/<[^<>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
