// SPDX-License-Identifier: Apache-2.0
/**
 * The Gogo commands of scope {@code nn}. Each is a component that parses its own arguments and
 * returns a {@link io.thalamus.shell.format.Result}, which {@code ResultConverter} prints.
 */
package io.thalamus.shell;
