// SPDX-License-Identifier: Apache-2.0
/**
 * Arithmetic over arrays on the JDK's vectors, each kernel beside its scalar twin, which computes
 * the same bits. Knows neither models nor threads.
 */
package io.thalamus.simd.kernel;
