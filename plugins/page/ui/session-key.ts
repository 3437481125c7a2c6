// The keys of sessions.

/** The main session of an agent. */
export const mainSessionOf = (agentId: string): string => `agent:${agentId}:main`
