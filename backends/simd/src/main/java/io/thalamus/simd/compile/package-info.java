// SPDX-License-Identifier: Apache-2.0
/**
 * From a graph to a program: {@link io.thalamus.simd.compile.GraphCompiler} fuses operations and
 * plans the memory, and each family of operations has a class that turns its own into steps.
 */
package io.thalamus.simd.compile;
