// SPDX-License-Identifier: Apache-2.0
/** The JSON form of models and conformance vectors. */
package io.thalamus.vectors;
