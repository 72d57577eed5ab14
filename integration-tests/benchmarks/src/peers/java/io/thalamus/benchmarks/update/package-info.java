// SPDX-License-Identifier: Apache-2.0
/**
 * Engines with native libraries whose bundle is updated; compiled only with the profile {@code
 * benchmarks}.
 */
package io.thalamus.benchmarks.update;
