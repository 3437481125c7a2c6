// Time zones: which names are one, and which one the machine has.

export function isTimezone(name: string | undefined): name is string {
  try {
    return name !== undefined && /^[a-z]/i.test(name) && Intl.DateTimeFormat('en', { timeZone: name }).format() !== ''
  } catch {
    return false
  }
}

/** For an empty or unknown `TZ`, Node keeps UTC, but names no zone or one that it refuses. */
export function machineTimezone(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return isTimezone(timeZone) ? timeZone : 'UTC'
}
