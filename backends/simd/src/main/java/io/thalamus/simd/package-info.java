// SPDX-License-Identifier: Apache-2.0
/**
 * A device on the JDK's Vector API. Preparing compiles the whole graph ({@code compile}) into a
 * flat list of steps over planned memory ({@code program}), which call kernels over arrays ({@code
 * kernel}); running them allocates nothing and looks nothing up.
 */
package io.thalamus.simd;
