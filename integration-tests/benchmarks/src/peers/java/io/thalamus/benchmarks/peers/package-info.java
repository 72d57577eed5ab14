// SPDX-License-Identifier: Apache-2.0
/**
 * Engines of others; compiled only where they are asked for, with the profile {@code benchmarks}.
 */
package io.thalamus.benchmarks.peers;
