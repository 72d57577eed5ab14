// SPDX-License-Identifier: Apache-2.0
/** Reference kernels for the operations of {@code io.thalamus.operations.extension}. */
package io.thalamus.cpu.extension;
