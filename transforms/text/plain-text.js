// What is left of a text without markup and superfluous white space.
export const plainText = (value) =>
  String(value)
    .replace(/<[^<>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
