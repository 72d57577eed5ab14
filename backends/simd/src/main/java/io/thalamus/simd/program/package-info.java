// SPDX-License-Identifier: Apache-2.0
/**
 * A compiled graph: {@link io.thalamus.simd.program.Step steps} over the memory of a {@link
 * io.thalamus.simd.program.Frame frame}, and the threads that share their tiles.
 */
package io.thalamus.simd.program;
