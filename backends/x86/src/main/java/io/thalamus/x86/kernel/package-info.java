// SPDX-License-Identifier: Apache-2.0
/** Emitters of functions, each with the bytes that it accesses. */
package io.thalamus.x86.kernel;
