// SPDX-License-Identifier: Apache-2.0
/** The form itself: the names in it, and elements as numbers. */
package io.thalamus.json.form;
