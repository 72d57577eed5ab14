// SPDX-License-Identifier: Apache-2.0
/**
 * The command {@code nn:chaos}. Its components wait for Gogo; where there is none, no class of this
 * package is loaded.
 */
package io.thalamus.npu.chaos;
