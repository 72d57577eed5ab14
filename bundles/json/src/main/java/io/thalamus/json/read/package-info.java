// SPDX-License-Identifier: Apache-2.0
/** The reader of the form. */
package io.thalamus.json.read;
