// SPDX-License-Identifier: Apache-2.0
/**
 * From a model to commands. Each operation becomes a {@link io.thalamus.npu.compile.Layer}, loops
 * over tiles whose sizes and order are open; a search chooses them by simulated cycles.
 */
package io.thalamus.npu.compile;
