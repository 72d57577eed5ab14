// SPDX-License-Identifier: Apache-2.0
/** Values of inputs and outputs, and the files that hold them. */
package io.thalamus.shell.tensor;
