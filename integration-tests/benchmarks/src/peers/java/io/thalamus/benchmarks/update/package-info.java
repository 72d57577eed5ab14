// SPDX-License-Identifier: Apache-2.0
/**
 * What becomes of engines with native libraries when their bundle is updated; compiled only with
 * the profile {@code benchmarks}.
 */
package io.thalamus.benchmarks.update;
