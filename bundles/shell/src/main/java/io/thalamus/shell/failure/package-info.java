// SPDX-License-Identifier: Apache-2.0
/** How commands fail: one line, and an exit status. */
package io.thalamus.shell.failure;
