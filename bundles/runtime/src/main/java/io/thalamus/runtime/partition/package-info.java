// SPDX-License-Identifier: Apache-2.0
/** Gives the operations of a model to devices, as NNAPI does. */
package io.thalamus.runtime.partition;
