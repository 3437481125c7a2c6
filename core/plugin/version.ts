// The version of the contract.

/**
 * The version of the contract that this gateway implements: the number of the release that changed `svc-gateway/plugin`
 * last. It follows Semantic Versioning, and the page "Writing a plugin" says what each part promises.
 */
export const contractVersion = '0.1.0'
