// SPDX-License-Identifier: Apache-2.0
/**
 * A device on the JDK's Vector API. Preparing compiles the whole graph into a flat list of {@link
 * io.thalamus.simd.Step steps} over planned memory; running them allocates nothing and looks
 * nothing up.
 */
package io.thalamus.simd;
