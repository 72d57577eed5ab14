// SPDX-License-Identifier: Apache-2.0
/** Checks and what they are made of: expectations, and the uses of examples and models. */
package io.thalamus.tck.check;
