// SPDX-License-Identifier: Apache-2.0
/** The command lines of the commands, taken apart in POSIX style. The only user of Commons CLI. */
package io.thalamus.shell.arguments;
