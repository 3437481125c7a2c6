// What a text comes to, worked out once: for texts that come with most requests, such as the address of a proxy.

/** Beyond so many it begins anew: strangers choose these texts. */
const keptTexts = 1000
/** Longer ones are not kept. */
const longestText = 100

export function memoize<Value extends object | boolean>(make: (text: string) => Value): (text: string) => Value {
  let known = new Map<string, Value>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const made = make(text)
    if (known.size >= keptTexts) known = new Map()
    if (text.length <= longestText) known.set(text, made)
    return made
  }
}
