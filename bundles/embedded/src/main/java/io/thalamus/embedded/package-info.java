// SPDX-License-Identifier: Apache-2.0
/** Thalamus inside a program that knows nothing of OSGi. */
package io.thalamus.embedded;
