// SPDX-License-Identifier: Apache-2.0
/**
 * The native side: what the processor has, memory for code that is never writable and executable at
 * once, and the one way into it. Knows nothing of networks.
 */
package io.thalamus.x86.code;
