// SPDX-License-Identifier: Apache-2.0
/** Runs commands for the launcher, without a terminal; shares only JDK types with it. */
package io.thalamus.shell.batch;
