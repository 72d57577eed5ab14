// SPDX-License-Identifier: Apache-2.0
/** A device of two operations, complete in everything else, to be filled. */
package com.example.template;
