// SPDX-License-Identifier: Apache-2.0
/** The answers of the commands: what they show to people and to programs. */
package io.thalamus.shell.results;
