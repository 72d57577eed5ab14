// SPDX-License-Identifier: Apache-2.0
/** Mends of faults of Gogo's sessions, and of its completion, that end a shell. */
package io.thalamus.shell.session;
